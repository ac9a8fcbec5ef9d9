// Plays a recording of a model's replies, without network or key.

import { connectReplay, definePlugin } from "nanocode";

export default definePlugin({ apis: { replay: connectReplay } });
