// Chat Completions: the API that OpenAI-style servers speak.

import { connectChat, definePlugin } from "nanocode";

export default definePlugin({ apis: { chat: connectChat } });
