// Converts the text fields of a form to the values of the JSON form: numbers, flags, lists and objects, by field name.
import { invalidParam, ServiceError } from '@switchyard/contracts';
import { requireBoundedJson } from '../../http/json-bounds.ts';

type Read = (values: string[], name: string) => unknown;

/** Lists: repeated fields (`models=a&models=b`, or `models[]=…` as some clients write) or one JSON list. */
const LISTS = ['models', 'timestamp_granularities', 'include'];

const READ: Readonly<Record<string, Read>> = {
  temperature: (values, name) => toNumber(one(values, name), name),
  stream: (values, name) => toFlag(one(values, name), name),
  provider_options: (values, name) => fromJson(one(values, name), name),
  ...Object.fromEntries(LISTS.map((name): [string, Read] => [name, toList])),
};

export class FormFields {
  readonly #bytesMax: number;
  readonly #values = new Map<string, string[]>();
  #bytes = 0;

  /** @param bytesMax limit for all names and values together */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** @throws ServiceError `body_too_large` */
  add(fieldName: string | undefined, value: string, truncated: boolean): void {
    const name = (fieldName ?? '').replace(/\[\]$/, '');
    this.#bytes += Buffer.byteLength(name) + Buffer.byteLength(value);
    if (truncated || this.#bytes > this.#bytesMax)
      throw new ServiceError(
        'body_too_large',
        `The fields besides the file exceed ${this.#bytesMax} bytes. Send less.`,
      );
    const values = this.#values.get(name);
    if (values) values.push(value);
    else this.#values.set(name, [value]);
  }

  /** @throws ServiceError `invalid_request` that names the field */
  read(): Record<string, unknown> {
    return Object.fromEntries(
      [...this.#values].map(([name, values]) => {
        const read = Object.hasOwn(READ, name) ? READ[name] : one;
        return [name, read?.(values, name)];
      }),
    );
  }
}

function one(values: string[], name: string): string {
  if (values.length > 1) throw invalidParam(name, 'is given more than once. Send it once.');
  return values[0] ?? '';
}

function toList(values: string[], name: string): unknown {
  const [first = ''] = values;
  return values.length === 1 && first.startsWith('[') ? fromJson(first, name) : values;
}

function toNumber(value: string, name: string): number {
  const number = Number(value);
  if (value.trim() === '' || !Number.isFinite(number))
    throw invalidParam(name, 'is not a number. Send a number.');
  return number;
}

function toFlag(value: string, name: string): boolean {
  if (value !== 'true' && value !== 'false') throw invalidParam(name, 'is not a flag. Send true or false.');
  return value === 'true';
}

function fromJson(value: string, name: string): unknown {
  requireBoundedJson(Buffer.from(value));
  try {
    return JSON.parse(value);
  } catch (cause) {
    throw invalidParam(name, 'is not JSON. Send JSON.', cause);
  }
}
