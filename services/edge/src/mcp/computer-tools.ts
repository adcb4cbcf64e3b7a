// Tools for computers: lifecycle, commands, files of /workspace, and the desktop.
import {
  createComputerRequest,
  createLinkRequest,
  type ExecResult,
  execRequest,
  invalidParam,
  ServiceError,
  uploadRequest,
  workspaceQuery,
  workspaceWriteQuery,
} from '@switchyard/contracts';
import { z } from 'zod';
import { type OwnApi, RefusedCall, readBody } from './own-api.ts';
import { deliverMedia, imageTypeOf } from './result-media.ts';
import {
  COMMAND_S_DEFAULT,
  COMMAND_S_MAX,
  MEDIA_BYTES_MAX,
  TEXT_CHARACTERS_MAX,
  type Tool,
  type ToolResult,
  tool,
} from './tool.ts';

const SCREEN_SIDE_MAX = 10_000;
const DESKTOP_COMMAND_S = 30;
/** xdotool types about 80 characters a second. */
const TYPED_CHARACTERS_MAX = 2_000;
const KEYS_LENGTH_MAX = 100;
const FAILURE_CHARACTERS_MAX = 2_000;
/** Length of the line that names the next offset. */
const CONTINUATION_CHARACTERS_MAX = 100;
/** JPEG, since a large PNG in base64 exceeds the output of a command. */
const SCREENSHOT =
  'set -e; f=$(mktemp --suffix=.jpg); trap \'rm -f "$f"\' EXIT; scrot -o -q 85 "$f"; base64 -w0 "$f"';
const MOUSE_BUTTONS = { left: 1, middle: 2, right: 3 } as const;

const computer = z.strictObject({ computer_id: z.string().min(1).describe('Id of the computer') });
const { name, image, cpu, memory_mb, idle_stop_minutes } = createComputerRequest.shape;
const { command, cwd, stdin, on_disconnect } = execRequest.shape;
const write = { permission: 'computers:write' } as const;
const read = { permission: 'computers:read', readOnly: true } as const;

const pathOf = (id: string, rest = '') => `/v1/computers/${encodeURIComponent(id)}${rest}`;
const filesOf = (id: string, path: string) => pathOf(id, `/files?${new URLSearchParams({ path })}`);

const LIFE: readonly Tool[] = [
  tool({
    ...write,
    name: 'create_computer',
    description:
      'Rent a Linux computer with internet access, charged by the minute while it runs. It stops by itself when idle; /workspace is kept until it is deleted.',
    input: z.strictObject({ name, image, cpu, memory_mb, idle_stop_minutes }),
    run: async (input, api) => ({ result: await api.json('POST', '/v1/computers', input) }),
  }),
  tool({
    ...read,
    name: 'list_computers',
    description: 'List the computers, with status and cost so far in US dollars.',
    input: z.strictObject({}),
    run: async (_input, api) => ({ result: await api.json('GET', '/v1/computers') }),
  }),
  lifeTool('start', 'Start a stopped computer; its minutes are charged.'),
  lifeTool(
    'stop',
    'Stop a computer; it is no longer charged. /workspace is kept; other files and installed packages are not.',
  ),
  tool({
    ...write,
    name: 'delete_computer',
    description: 'Delete a computer and all its files.',
    destructive: true,
    input: computer,
    run: async ({ computer_id }, api) => ({ result: await api.json('DELETE', pathOf(computer_id)) }),
  }),
];

function lifeTool(verb: 'start' | 'stop', description: string): Tool {
  return tool({
    ...write,
    name: `${verb}_computer`,
    description,
    input: computer,
    run: async ({ computer_id }, api) => ({
      result: await api.json('POST', pathOf(computer_id, `/${verb}`)),
    }),
  });
}

const WORK: readonly Tool[] = [
  tool({
    ...write,
    name: 'run_command',
    description:
      'Run a shell command as root in a running computer, and wait for its output and exit code. Start a program that takes longer with: nohup … > log 2>&1 &. Keep running commands meanwhile, such as sleep 200: without any, the computer stops after its idle_stop_minutes.',
    input: computer.extend({
      command,
      cwd,
      stdin,
      timeout: z
        .int()
        .min(1)
        .max(COMMAND_S_MAX)
        .default(COMMAND_S_DEFAULT)
        .describe('Seconds after which the command is stopped'),
      on_disconnect: on_disconnect.describe(
        'What happens to the command when the client disconnects. continue: it runs on; no tool returns its output, so write it to a file',
      ),
    }),
    async run({ computer_id, ...body }, api) {
      const result: ExecResult = await api.json('POST', pathOf(computer_id, '/exec'), body);
      return { result, text: `exit code ${result.exit_code}\n${result.stdout}` };
    },
  }),
  tool({
    ...read,
    name: 'read_file',
    description:
      'Read a text or an image in /workspace of a running computer, or list a folder. A long text comes in parts: go on at next_offset.',
    input: computer.extend({
      path: workspaceQuery.shape.path,
      offset: z.int().min(0).default(0).describe('Bytes to skip'),
    }),
    run: ({ computer_id, path, offset }, api) => readFile(api, filesOf(computer_id, path), offset),
  }),
  tool({
    ...write,
    name: 'write_file',
    description: 'Write a text file in /workspace of a running computer, replacing any existing one.',
    destructive: true,
    input: computer.extend({
      path: workspaceWriteQuery.shape.path,
      content: z.string().describe('The whole text'),
    }),
    async run({ computer_id, path, content }, api) {
      const answer = await api.send('PUT', filesOf(computer_id, path), { body: Buffer.from(content) });
      return { result: JSON.parse((await readBody(answer)).toString('utf8')) };
    },
  }),
  tool({
    ...write,
    name: 'copy_file_to_computer',
    description: 'Copy a stored file, such as a large image or sound of another tool, to a running computer.',
    input: computer.extend({ file_id: uploadRequest.shape.file, path: uploadRequest.shape.path }),
    run: async ({ computer_id, file_id: file, path }, api) => ({
      result: await api.json('POST', pathOf(computer_id, '/upload'), { file, path }),
    }),
  }),
  tool({
    ...write,
    name: 'open_port',
    description:
      'Get an address at which a browser opens a server of a running computer without a key, for example to show a page to the user. Anyone with the address can use this port until it expires.',
    input: computer.extend({
      port: createLinkRequest.shape.port.unwrap().describe('The port that the server listens on'),
      minutes: createLinkRequest.shape.minutes,
    }),
    run: async ({ computer_id, ...body }, api) => ({
      result: await api.json('POST', pathOf(computer_id, '/links'), body),
    }),
  }),
];

/** @param at the file's address in the API */
async function readFile(api: OwnApi, at: string, offset: number): Promise<ToolResult> {
  const range = `bytes=${offset}-${offset + MEDIA_BYTES_MAX - 1}`;
  const answer = await api.send('GET', at, { headers: { range } }).catch((error: unknown) => {
    if (error instanceof RefusedCall && error.error.details?.bytes === 0) return null; // an empty file has no range
    throw error;
  });
  if (answer === null) return { result: { bytes: 0, text: '', next_offset: null }, text: '' };
  const body = await readBody(answer);
  if (answer.headers['content-type']?.startsWith('application/json'))
    return { result: JSON.parse(body.toString('utf8')) };
  const bytes = Number(answer.headers['content-range']?.split('/')[1] ?? body.length);
  const mediaType = offset === 0 && body.length === bytes ? imageTypeOf(body) : null;
  if (mediaType !== null)
    return { result: { bytes, media_type: mediaType }, media: { bytes: body, mediaType } };
  if (body.includes(0)) {
    const text = `A binary file of ${bytes} bytes. Inspect it with run_command.`;
    return { result: { bytes, text: null, next_offset: null }, text };
  }
  return textPart(body, offset, bytes);
}

/** One part of a text, which ends between two characters and leaves room for its last line. */
function textPart(body: Buffer, offset: number, bytes: number): ToolResult {
  const end = startOfCharacter(body, TEXT_CHARACTERS_MAX - CONTINUATION_CHARACTERS_MAX);
  const text = body.toString('utf8', 0, end);
  const next = offset + end < bytes ? offset + end : null;
  const more = next === null ? '' : `\n[${bytes - next} more bytes: go on at offset ${next}]`;
  return { result: { bytes, text, next_offset: next }, text: text + more };
}

function startOfCharacter(body: Buffer, at: number): number {
  if (at >= body.length) return body.length;
  let start = at;
  while (start > 0 && at - start < 4 && ((body[start] as number) & 0xc0) === 0x80) start -= 1;
  return start;
}

const side = z.int().min(0).max(SCREEN_SIDE_MAX);

const DESKTOP: readonly Tool[] = [
  tool({
    ...write,
    name: 'desktop_screenshot',
    description:
      'Show the desktop of a running computer with the standard image, starting it if necessary. Open programs with run_command, for example: nohup chromium https://example.com > /dev/null 2>&1 &',
    input: computer,
    run: async ({ computer_id }, api) => {
      const bytes = Buffer.from(await onDesktop(api, computer_id, { command: SCREENSHOT }), 'base64');
      const media = { bytes, mediaType: 'image/jpeg' };
      const { about, media: shown } = await deliverMedia(api, media, 'screenshot');
      return { result: about, media: shown };
    },
  }),
  tool({
    ...write,
    name: 'desktop_click',
    description: 'Click at a point of the desktop, in pixels of the screenshot.',
    input: computer.extend({
      x: side.describe('Pixels from the left'),
      y: side.describe('Pixels from the top'),
      button: z.enum(['left', 'middle', 'right']).default('left').describe('The mouse button'),
      double: z.boolean().default(false).describe('A double click'),
    }),
    run: ({ computer_id, x, y, button, double }, api) =>
      desktopInput(api, computer_id, {
        command: `xdotool mousemove ${x} ${y} click --repeat ${double ? 2 : 1} ${MOUSE_BUTTONS[button]}`,
      }),
  }),
  tool({
    ...write,
    name: 'desktop_type',
    description:
      'Type a text on the keyboard of the desktop; a line break is Return. Programs may miss characters beyond ASCII: look at a screenshot.',
    input: computer.extend({ text: z.string().min(1).max(TYPED_CHARACTERS_MAX).describe('The text') }),
    run: ({ computer_id, text }, api) =>
      desktopInput(api, computer_id, { command: 'xdotool type --file -', stdin: text }),
  }),
  tool({
    ...write,
    name: 'desktop_press',
    description: 'Press a key, or several at once, on the desktop.',
    input: computer.extend({
      keys: z
        .string()
        .regex(/^[A-Za-z0-9_]+(\+[A-Za-z0-9_]+)*$/, 'must look like ctrl+l')
        .max(KEYS_LENGTH_MAX)
        .describe('X11 key names, joined by +: Return, ctrl+l, alt+Tab, Page_Down'),
    }),
    run: ({ computer_id, keys }, api) =>
      desktopInput(api, computer_id, { command: `xdotool key ${keys}` }, refuseUnknownKeys),
  }),
];

async function desktopInput(
  api: OwnApi,
  id: string,
  exec: { command: string; stdin?: string },
  check: (output: string) => void = () => {},
): Promise<ToolResult> {
  check(await onDesktop(api, id, exec));
  return { result: { done: true } };
}

/** xdotool ignores a key that it does not know, and succeeds. */
function refuseUnknownKeys(output: string): void {
  const [, unknown] = /No such key name '(\w+)'/.exec(output) ?? [];
  if (unknown !== undefined)
    throw invalidParam('keys', `X11 has no key ${unknown}. Use names such as Return, Page_Down or F5.`);
}

/** Starts the desktop, unless it runs, and returns the output of a command on it. */
async function onDesktop(
  api: OwnApi,
  id: string,
  exec: { command: string; stdin?: string },
): Promise<string> {
  await api.json('POST', pathOf(id, '/desktop'), {});
  const body = { ...exec, timeout: DESKTOP_COMMAND_S };
  const { exit_code, stdout, truncated }: ExecResult = await api.json('POST', pathOf(id, '/exec'), body);
  if (exit_code === 0 && !truncated) return stdout;
  throw new ServiceError('computer_failed', 'The desktop did not respond. Take a screenshot and retry.', {
    details: { exit_code, stdout: stdout.slice(-FAILURE_CHARACTERS_MAX) },
  });
}

export const COMPUTER_TOOLS: readonly Tool[] = [...LIFE, ...WORK, ...DESKTOP];
