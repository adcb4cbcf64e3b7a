// Reports the results of tools: JSON as "name: value", other text unchanged.
import type { ToolResult } from './conversation.ts';
import type { Json } from './schema/json-schema.ts';

const LENGTH_TOLD_MAX = 2_000;
const DEPTH_TOLD_MAX = 4;

export function tellToolResults(results: readonly ToolResult[]): string {
  return results.map(({ tool, text }) => `${tool} says: ${shortened(readOut(text))}`).join('\n');
}

function readOut(text: string): string {
  const value = tryParse(text);
  return value === undefined ? text.trim() : spoken(value, 0);
}

function spoken(value: Json, depth: number): string {
  if (value === null) return 'nothing';
  if (typeof value !== 'object') return String(value);
  if (depth === DEPTH_TOLD_MAX) return JSON.stringify(value);
  if (Array.isArray(value)) return value.map((item) => spoken(item, depth + 1)).join(', ');
  return Object.entries(value)
    .map(([name, item]) => `${name.replaceAll('_', ' ')}: ${spoken(item, depth + 1)}`)
    .join('; ');
}

function tryParse(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

function shortened(text: string): string {
  return text.length <= LENGTH_TOLD_MAX ? text : `${text.slice(0, LENGTH_TOLD_MAX)} …`;
}
