// Versions and ranges, by npm's own rules and its own library.

import semver from "semver";

/** Is the version in the range? Null when the range is none. A prerelease counts as its release. */
export function satisfies(version: string, range: string): boolean | null {
  if (semver.validRange(range) === null) return null;
  return semver.satisfies(version, range, { includePrerelease: true });
}

/**
 * The version that a range asks for, as npm chooses it: what `latest` names if it is in the range, else the
 * highest. Null when none is; undefined when the range is none.
 */
export function choose(
  versions: readonly string[],
  range: string,
  latest: string | undefined,
): string | null | undefined {
  if (semver.validRange(range) === null) return undefined;
  if (latest !== undefined && semver.satisfies(latest, range)) return latest;
  return semver.maxSatisfying([...versions], range);
}
