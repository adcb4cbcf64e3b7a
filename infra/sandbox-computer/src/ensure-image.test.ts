import { expect, test } from 'vitest';
import { stepInWords } from './ensure-image.ts';

test('the builder’s step reads as a sentence, and its other lines change nothing', () => {
  expect(stepInWords('Step 7/10 : RUN apt-get update')).toBe(
    'building the standard computer image: step 7 of 10',
  );
  expect(stepInWords('Setting up git (1:2.39) ...')).toBeUndefined();
});
