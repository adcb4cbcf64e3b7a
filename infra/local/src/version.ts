/** Versions of programs: three numbers. */

/** The first `1.2.3` in a text. */
export function readVersion(text: string): string | undefined {
  return text.match(/\d+\.\d+\.\d+/)?.[0];
}

/** Whether `version` is `minimum` or newer. False if it is not a version. */
export function isVersionAtLeast(version: string, minimum: string): boolean {
  const numbers = readVersion(version)?.split('.').map(Number);
  if (numbers === undefined) return false;
  const least = minimum.split('.').map(Number);
  for (let place = 0; place < least.length; place += 1) {
    const difference = numbers[place]! - least[place]!;
    if (difference !== 0) return difference > 0;
  }
  return true;
}
