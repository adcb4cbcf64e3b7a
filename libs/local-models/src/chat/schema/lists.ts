// Finds lists in a text: enumerations, the clauses that each give one object, and `name: value` pairs.
import { sentencesOf } from '../../text/sentences.ts';
import type { Field } from './field.ts';
import type { SourceText } from './source-text.ts';

const BULLET = /^\s*(?:[-*•]|\d+[.)])\s+/u;
const ITEM = String.raw`[\p{L}\p{N}'’-]+(?:\s[\p{L}\p{N}'’-]+)?`;
/** `red, green and blue` */
const ENUMERATION = new RegExp(String.raw`${ITEM}(?:,\s*${ITEM})*,?\s+(?:and|or)\s+[\p{L}\p{N}'’-]+`, 'gu');
const PAIR =
  /(?:^|[\n,;{]|\.\s)\s*["']?([\p{L}_][\p{L}\p{N}_ -]{0,40}?)["']?\s*[:=]\s*((?:[^\n,;}.]|\.(?!\s|$)){1,500})/gu;

/** What a text lists: as bullets, after the field's name, after a colon, or simply with commas. */
export function listIn({ text }: SourceText, { spoken }: Field): string[] {
  const bullets = text.split('\n').filter((line) => BULLET.test(line));
  if (bullets.length > 1) return bullets.map((line) => line.replace(BULLET, '').trim());
  const label = String.raw`\b${spoken}\b[^:.\n]{0,30}?(?::|\bare\b|\binclude\b|\bis\b)\s*([^.\n]+)`;
  const listed =
    (spoken === '' ? null : new RegExp(label, 'iu').exec(text)?.[1]) ??
    /:\s*([^.\n]+)/.exec(text)?.[1] ??
    text.match(ENUMERATION)?.sort((a, b) => b.length - a.length)[0] ??
    '';
  return listed
    .split(/,\s*(?:and\s+|or\s+)?|;\s*|\s+(?:and|or)\s+/)
    .map((item) => item.trim().replace(/^["'“]|["'”.!?]+$/g, ''))
    .filter((item) => item !== '');
}

/** Clauses and sentences, each of which may be about another thing. */
export function clausesOf(text: string): string[] {
  return sentencesOf(text).flatMap((sentence) =>
    sentence.split(/;\s*|,\s*(?:and\s+)?(?=\p{Lu})|\s+and\s+(?=\p{Lu})/u),
  );
}

/** `city: Oslo, people: 700000` */
export function pairsIn(text: string): (readonly [name: string, value: string])[] {
  return [...text.matchAll(PAIR)].map(
    ([, name = '', value = '']) => [name.trim(), value.trim().replace(/^["']|["'.]+$/g, '')] as const,
  );
}
