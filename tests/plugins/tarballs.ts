// Tarballs for tests, also such as no honest program makes, and a registry that speaks npm's protocol.

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { type Header, pack } from "tar-stream";

export type Entry = Partial<Header> & { name: string; content?: string | Uint8Array };

/** A `.tgz` of entries, as they are. */
export async function tgz(entries: readonly Entry[]): Promise<Uint8Array> {
  const tar = pack();
  for (const { content = "", ...header } of entries) {
    const type = header.type ?? "file";
    if (type === "file") tar.entry({ type, ...header }, Buffer.from(content));
    else tar.entry({ type, ...header } as Header);
  }
  tar.finalize();
  const chunks: Uint8Array[] = [];
  for await (const chunk of tar as AsyncIterable<Uint8Array>) chunks.push(chunk);
  return gzipSync(Buffer.concat(chunks));
}

/** A package's tarball: everything under `package/`. */
export function packed(files: Readonly<Record<string, string>>): Promise<Uint8Array> {
  return tgz(
    Object.entries(files).map(([name, content]) => ({ name: `package/${name}`, content })),
  );
}

export const sha = (algorithm: string, bytes: Uint8Array, encoding: "hex" | "base64") =>
  createHash(algorithm).update(bytes).digest(encoding);

export interface Registry {
  url: string;
  /** Paths that were asked for, in order. */
  asked: string[];
  publish(
    name: string,
    version: string,
    tarball: Uint8Array,
    tags?: string[],
    dependencies?: Readonly<Record<string, string>>,
  ): void;
  /** Other bytes under the same address, as a broken or hostile registry has them. */
  tamper(name: string, version: string, tarball: Uint8Array): void;
  /** A file at an address. */
  serve(path: string, bytes: Uint8Array): string;
  close(): Promise<void>;
}

/** Strict: it knows the documents of packages, their tarballs and search, and nothing else. */
export async function startRegistry(): Promise<Registry> {
  const packages = new Map<
    string,
    Map<string, { integrity: string; tarball: string; dependencies: object }>
  >();
  const tagsOf = new Map<string, Record<string, string>>();
  const files = new Map<string, Uint8Array>();
  const asked: string[] = [];
  let url = "";
  const server: Server = createServer((request, response) => {
    const path = request.url ?? "";
    asked.push(path);
    const json = (value: object, status = 200) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(value));
    };
    const file = files.get(path);
    if (file !== undefined) {
      response.writeHead(200, { "content-type": "application/octet-stream" });
      response.end(file);
      return;
    }
    if (path.startsWith("/-/v1/search?")) {
      const [word = ""] = (new URL(path, url).searchParams.get("text") ?? "").split(" ");
      const objects = [...packages.keys()].filter((name) => name.includes(word)).map((name) => ({
        package: { name, version: tagsOf.get(name)?.["latest"], description: `About ${name}.` },
      }));
      return json({ objects, total: objects.length });
    }
    // A scoped name has its slash escaped.
    const name = /^\/[^/]+$/.test(path) ? decodeURIComponent(path.slice(1)) : "";
    const versions = packages.get(name);
    if (versions === undefined) return json({ error: "Not found" }, 404);
    json({
      name,
      "dist-tags": tagsOf.get(name),
      versions: Object.fromEntries([...versions].map((
        [version, { integrity, tarball, dependencies }],
      ) => [version, { name, version, dependencies, dist: { tarball, integrity } }])),
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const pathOf = (name: string, version: string) =>
    `/${name}/-/${name.split("/").at(-1)}-${version}.tgz`;
  return {
    url,
    asked,
    publish(name, version, tarball, tags = ["latest"], dependencies = {}) {
      const path = pathOf(name, version);
      files.set(path, tarball);
      const versions = packages.get(name) ?? new Map();
      versions.set(version, {
        integrity: `sha512-${sha("sha512", tarball, "base64")}`,
        tarball: url + path,
        dependencies,
      });
      packages.set(name, versions);
      tagsOf.set(name, {
        ...tagsOf.get(name),
        ...Object.fromEntries(tags.map((tag) => [tag, version])),
      });
    },
    tamper: (name, version, tarball) => void files.set(pathOf(name, version), tarball),
    serve(path, bytes) {
      files.set(path, bytes);
      return url + path;
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
