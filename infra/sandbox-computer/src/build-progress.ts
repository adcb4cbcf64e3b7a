const BUILDING = 'building the standard computer image';

/** While the base is pulled or made and the build context is written. */
export const PREPARING = `${BUILDING}: preparing its base`;

/** From the builder's line `Step 7/10 : RUN …`: "building the standard computer image: step 7 of 10". */
export function stepInWords(line: string): string | undefined {
  const [, step, steps] = /^Step (\d+)\/(\d+) :/.exec(line) ?? [];
  return step === undefined ? undefined : `${BUILDING}: step ${step} of ${steps}`;
}
