// nanocode's version: package.json owns it.

import manifest from "../package.json" with { type: "json" };

export const VERSION: string = manifest.version;
