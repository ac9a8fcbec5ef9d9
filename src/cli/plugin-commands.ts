// The terminal's command /reload.

import type { SessionPlugins } from "../plugins/session.ts";
import { type TrustItem, TrustStore } from "../plugins/trust.ts";
import type { Command } from "../ui/terminal/commands.ts";
import type { Workspace } from "./workspace.ts";

export function pluginCommands(
  plugins: SessionPlugins,
  { home, root }: Pick<Workspace, "home" | "root">,
): Command[] {
  /** What the last /reload showed: nobody agrees to what was not on the screen. */
  let shown: readonly TrustItem[] = [];
  const wasShown = ({ kind, id, sha256 }: TrustItem) =>
    shown.some((item) => item.kind === kind && item.id === id && item.sha256 === sha256);
  return [{
    name: "reload",
    help: "read plugins again; --trust also trusts what the last /reload showed of the project",
    async run(args, { print }) {
      if (args !== "" && args !== "--trust") {
        throw new Error("/reload takes nothing or --trust");
      }
      const trusted = args === "--trust" ? (await plugins.survey()).pending.filter(wasShown) : [];
      const { lines, pending } = await plugins.reload(trusted);
      shown = pending;
      if (pending.length > 0) {
        const { describe } = await import("./trust.ts");
        const store = new TrustStore(home);
        lines.push(
          "/reload --trust would trust:",
          ...pending.map((item) => describe(item, store, root)),
        );
      }
      print(lines.join("\n"));
    },
  }];
}
