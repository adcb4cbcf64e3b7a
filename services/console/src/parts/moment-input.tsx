// A field for a moment, in the time zone of the browser, to the minute.
import { TextInput, type TextInputProps } from '@mantine/core';

/** Keeps the field's year at four digits. */
const LATEST = '9999-12-31T23:59';

interface MomentInputProps extends Omit<TextInputProps, 'value' | 'onChange'> {
  /** An ISO time; empty: none. */
  readonly value: string;
  readonly onChange: (value: string) => void;
}

export function MomentInput({ value, onChange, ...input }: MomentInputProps) {
  return (
    <TextInput
      {...input}
      className="moment"
      type="datetime-local"
      max={LATEST}
      value={value === '' ? '' : localText(new Date(value))}
      onChange={(event) => onChange(isoOf(event.currentTarget.value))}
    />
  );
}

function localText(at: Date): string {
  const two = (count: number) => String(count).padStart(2, '0');
  const year = String(at.getFullYear()).padStart(4, '0');
  const date = `${year}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${date}T${two(at.getHours())}:${two(at.getMinutes())}`;
}

function isoOf(local: string): string {
  return local === '' ? '' : new Date(local).toISOString();
}
