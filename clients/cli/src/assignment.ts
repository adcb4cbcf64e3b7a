// Options of the form NAME=value, which may be repeated.
import { InvalidArgumentError } from 'commander';

/** For `option` of commander: adds an assignment to those before it. */
export function addAssignment(
  assignment: string,
  others: Record<string, string> = {},
): Record<string, string> {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(assignment) ?? [];
  if (name === undefined || value === undefined) throw new InvalidArgumentError('Write NAME=value.');
  return { ...others, [name]: value };
}
