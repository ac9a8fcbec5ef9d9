// Version ranges, by npm's own rules and its own library.

import semver from "semver";

/** Is the version in the range? Null when the range is none. A prerelease counts as its release. */
export function satisfies(version: string, range: string): boolean | null {
  if (semver.validRange(range) === null) return null;
  return semver.satisfies(version, range, { includePrerelease: true });
}
