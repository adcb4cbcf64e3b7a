/** Versions of programs: three numbers. */

/** The first `1.2.3` in a text. */
export function readVersion(text: string): string | undefined {
  return text.match(/\d+\.\d+\.\d+/)?.[0];
}

/** Whether `version` is `minimum` or newer. False if it is not a version. */
export function isVersionAtLeast(version: string, minimum: string): boolean {
  const found = readVersion(version);
  return found !== undefined && found.localeCompare(minimum, 'en', { numeric: true }) >= 0;
}
