// A large tree of source text for benchmarks, the same on each run: copies of the sources that lie around
// here (this project's and its dependencies'), each copy with names of its own, with ignored files,
// binary ones and hidden ones among them as a repository has them.

import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { Random } from "./random.ts";

/** What text files are called. */
const TEXT = /\.(?:[cm]?[jt]sx?|json|md|mjs)$/;
/** Larger ones are bundles that no one searches through (bytes). */
const MAX_FILE = 512 * 1024;
/** Words that each copy has its own form of, so that no two are alike. */
const VARIED = /\b(?:context|error|index|key|name|options|result|type|value)\b/g;
/** Per copy: files that are ignored, and binary ones. */
const IGNORED = 60;
const BINARY = 20;
const BINARY_BYTES = 16 * 1024;

export interface SourceTree {
  /** Files that a search looks into, and their bytes. */
  files: number;
  bytes: number;
  /** A text that stands in it `RARE` times. */
  rare: string;
}

/** How often the rare text occurs. */
export const RARE = 12;

/** The text files below `folders`, in order of path. */
export function sourceFiles(root: string, folders: readonly string[]): string[] {
  const found: string[] = [];
  const enter = (folder: string) => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) enter(path);
      else if (entry.isFile() && TEXT.test(entry.name) && statSync(path).size <= MAX_FILE) {
        found.push(path);
      }
    }
  };
  for (const folder of folders) enter(join(root, folder));
  return found.sort().map((path) => relative(root, path));
}

/** Writes about `bytes` bytes of source text into `folder`, which is made. */
export function writeSourceTree(folder: string, root: string, bytes: number): SourceTree {
  const random = new Random(7);
  const sources = sourceFiles(root, ["src", "tests", "node_modules"]).map((path) => ({
    path: path.replace("node_modules", "vendor"),
    text: readFileSync(join(root, path), "utf8"),
  }));
  const rare = "quokkaLedger";
  const tree: SourceTree = { files: 0, bytes: 0, rare };
  const write = (path: string, content: string | Uint8Array) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  };
  const text = (path: string, content: string) => {
    write(path, content);
    tree.files++;
    tree.bytes += content.length;
  };
  text(".gitignore", "*.log\nbuild/\n/coverage\n");
  const each = sources.reduce((sum, { text }) => sum + text.length, 0);
  const copies = Math.max(1, Math.round(bytes / each));
  for (let copy = 0; copy < copies; copy++) {
    const top = `packages/area-${copy % 4}/package-${copy}`;
    const holders = new Set(
      Array.from(
        { length: Math.ceil((RARE * (copy + 1)) / copies) - Math.ceil((RARE * copy) / copies) },
        () => random.below(sources.length),
      ),
    );
    for (const [i, source] of sources.entries()) {
      const varied = source.text.replaceAll(VARIED, `$&${copy}`);
      text(`${top}/${source.path}`, holders.has(i) ? `${varied}\n// ${rare}${copy}\n` : varied);
    }
    text(`${top}/.github/workflows/ci.yml`, `name: ci ${copy}\non: [push]\n`);
    text(`${top}/.gitignore`, "generated/*\n!generated/keep.ts\n");
    for (let n = 0; n < IGNORED; n++) {
      const { text: content } = sources[random.below(sources.length)]!;
      write(`${top}/${["build", "generated"][n % 2]}/${n}.js`, `${content}\n// ${rare}\n`);
    }
    for (let n = 0; n < BINARY; n++) {
      write(`${top}/assets/${n}.png`, random.bytes(BINARY_BYTES));
    }
  }
  return tree;
}
