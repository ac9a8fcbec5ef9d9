// Which of a project's sessions is meant: the newest, or the one whose id begins so.

import { UserError } from "../runtime/errors.ts";
import { findSession, listSessions, type SessionFile } from "../session/store.ts";

/**
 * @param folder Folder of the project's sessions.
 * @param id An id or its beginning; undefined for the newest; "" names none, and the candidates are listed.
 * @throws UserError that lists the newest sessions, or says that there is none.
 */
export function whichSession(folder: string, id: string | undefined): SessionFile {
  const all = listSessions(folder).filter((file) => file.bytes > 0);
  const [newest] = all;
  if (!newest) {
    throw new UserError(
      "this project has no session yet",
      'Start one: nanocode, or nanocode -p "prompt".',
    );
  }
  if (id === undefined) return newest;
  const found = findSession(folder, id);
  if (!Array.isArray(found)) return found;
  const candidates = (found.length > 0 ? found : all).slice(0, 5).map((file) =>
    `${file.id} (${new Date(file.modifiedMs).toLocaleString()})`
  );
  const what = id === ""
    ? "the id of a session of this project is missing"
    : `${
      found.length > 0 ? "several sessions begin" : "no session of this project begins"
    } with "${id}"`;
  throw new UserError(what, `The newest are: ${candidates.join(", ")}.`);
}
