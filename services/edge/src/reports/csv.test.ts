import { expect, test } from 'vitest';
import { csvLine } from './csv.ts';

test('text that would end a cell or a line is quoted', () => {
  expect(csvLine(['a,b', 'say "hi"', 'two\nlines', 'plain', null])).toBe(
    '"a,b","say ""hi""","two\nlines",plain,\r\n',
  );
});

test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '＝1+1', '＋1', '－1', '＠SUM(A1)'])(
  'text that a spreadsheet would run gets an apostrophe: %j',
  (text) => {
    expect(csvLine([text]).replace(/^"/, '')[0]).toBe("'");
  },
);

test('numbers stay numbers, also below zero, without an exponent', () => {
  expect(csvLine([-0.5, 1e-9, -1.5e-8, 0, 12.25, true])).toBe(
    '-0.5,0.000000001,-0.000000015,0,12.25,true\r\n',
  );
});
