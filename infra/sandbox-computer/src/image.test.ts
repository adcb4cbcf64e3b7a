// Everything that the interface promises to be in the standard image is used here, not only looked for.
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import Docker from 'dockerode';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ensureImage, IMAGE } from './ensure-image.ts';

const BUILD_TIMEOUT_MS = 600_000;
/** Some ask registries and mirrors. */
const TOOL_TIMEOUT_MS = 300_000;
const PNG_SIGNATURE = '89504e470d0a1a0a';

const docker = new Docker();
let container: Docker.Container;

beforeAll(async () => {
  await ensureImage({ docker });
  container = await docker.createContainer({
    Image: IMAGE,
    // As a computer is run: what works here must work there.
    HostConfig: {
      CapDrop: ['ALL'],
      CapAdd: ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'SETUID', 'SETGID', 'KILL'],
    },
  });
  await container.start();
}, BUILD_TIMEOUT_MS);

afterAll(() => container?.remove({ force: true, v: true }), TOOL_TIMEOUT_MS);

/** Runs a command with bash and returns what it wrote; fails with that if it exits with anything but 0. */
async function sh(command: string): Promise<string> {
  const exec = await container.exec({
    Cmd: ['bash', '-c', command],
    AttachStdout: true,
    AttachStderr: true,
    WorkingDir: '/workspace',
  });
  const stream = await exec.start({});
  const output = new PassThrough();
  docker.modem.demuxStream(stream, output, output);
  stream.on('end', () => output.end());
  const [chunks] = await Promise.all([output.toArray() as Promise<Buffer[]>, once(output, 'end')]);
  const text = Buffer.concat(chunks).toString();
  const { ExitCode: code } = await exec.inspect();
  if (code !== 0) throw new Error(`exit code ${code} of: ${command}\n${text}`);
  return text.trim();
}

describe('each tool of the interface does its work', { timeout: TOOL_TIMEOUT_MS }, () => {
  test.each([
    ['Debian 12', '. /etc/os-release; echo $ID $VERSION_ID', 'debian 12'],
    ['Node.js 22', `node -p 'process.versions.node.split(".")[0]'`, '22'],
    ['npm', 'npm init -y >/dev/null && npm pkg get version', '"1.0.0"'],
    ['npx', 'npx --version >/dev/null && echo ok', 'ok'],
    ['Python 3', `python3 -c 'print(6*7)'`, '42'],
    ['python', `python -c 'import sys; print(sys.version_info[0])'`, '3'],
    ['venv with pip', 'python3 -m venv /tmp/v && /tmp/v/bin/pip --version | cut -d" " -f1', 'pip'],
    [
      'git',
      'git init -q r && cd r && git -c user.name=a -c user.email=b commit -q --allow-empty -m one && git log --format=%s',
      'one',
    ],
    ['curl', 'echo hello > /tmp/c && curl -s file:///tmp/c', 'hello'],
    [
      'wget',
      '(cd /tmp && python3 -m http.server 8123 >/dev/null 2>&1 & echo $! > /tmp/pid); until wget -qO- http://127.0.0.1:8123/c 2>/dev/null; do sleep 0.05; done; kill $(cat /tmp/pid)',
      'hello',
    ],
    ['jq', `echo '{"a":[1,2]}' | jq -c .a`, '[1,2]'],
    ['ripgrep', 'rg --no-filename hello /tmp/c', 'hello'],
    ['fd', 'mkdir -p f && touch f/found.txt && fd -e txt . f', 'f/found.txt'],
    ['tree', 'mkdir -p t/u && tree --noreport t | tail -1', '└── u'],
    ['sqlite3', `sqlite3 :memory: 'select 6*7'`, '42'],
    ['gcc', `printf 'int main(){return 42;}' > a.c && gcc -o a a.c && ./a; echo $?`, '42'],
    [
      'g++',
      `printf '#include <iostream>\\nint main(){std::cout << 42;}' > a.cc && g++ -o b a.cc && ./b`,
      '42',
    ],
    ['make', `printf 'all:\\n\\t@echo made\\n' > Makefile && make`, 'made'],
  ])('%s', async (_, command, expected) => {
    expect(await sh(command)).toBe(expected);
  });

  test('pip installs a package outside a venv', async () => {
    expect(await sh('pip install -q six && python3 -c "import six; print(six.__name__)"')).toContain('six');
  });

  test('npm installs a package from the registry, and its TLS is trusted', async () => {
    expect(
      await sh('cd /tmp && npm install --silent is-odd >/dev/null && node -p "require(\'is-odd\')(3)"'),
    ).toBe('true');
  });

  test('apt installs a package', async () => {
    expect(await sh('apt-get update -qq && apt-get install -qq -y hello >/dev/null 2>&1; hello')).toBe(
      'Hello, world!',
    );
  });
});

describe('Chromium', { timeout: TOOL_TIMEOUT_MS }, () => {
  test('takes a screenshot of a page with its default flags', async () => {
    const page = 'data:text/html,<body style="background:rgb(255,0,0)">';
    await sh(
      `chromium --headless --window-size=300,200 --screenshot=/tmp/shot.png '${page}' >/dev/null 2>&1`,
    );
    const head = await sh(
      'head -c 24 /tmp/shot.png | xxd -p 2>/dev/null || head -c 24 /tmp/shot.png | od -An -tx1 | tr -d " \\n"',
    );
    expect(head.slice(0, 16)).toBe(PNG_SIGNATURE);
    // Width and height stand in the first chunk.
    expect([Number.parseInt(head.slice(32, 40), 16), Number.parseInt(head.slice(40, 48), 16)]).toEqual([
      300, 200,
    ]);
  });

  test('trusts the certificate authorities that the host trusts', async () => {
    // The registry is the one address that every host of ours reaches, through whatever re-signs its TLS.
    const registry = await sh('npm config get registry');
    expect(await sh(`chromium --headless --dump-dom ${registry}is-odd/latest 2>/dev/null`)).toContain(
      'is-odd',
    );
  });
});

describe('the remote desktop', { timeout: TOOL_TIMEOUT_MS }, () => {
  test('start-desktop fails when its VNC server cannot listen, with the reason', async () => {
    const server = "import socket; s = socket.create_server(('', 5900)); print('up', flush=True); s.accept()";
    const taken = `python3 -c "${server}" >/tmp/taken 2>&1 </dev/null & echo $! >/tmp/taker`;
    await sh(`${taken}; until grep -q up /tmp/taken; do sleep 0.05; done`);
    await expect(sh('start-desktop')).rejects.toThrow(/x11vnc did not come up/);
    await sh(
      'kill $(cat /tmp/taker); while (exec 3<>/dev/tcp/127.0.0.1/5900) 2>/dev/null; do sleep 0.05; done',
    );
  });

  test('start-desktop serves noVNC in front of a VNC server, and shows what runs on the display', async () => {
    await sh('start-desktop');
    expect(await sh('curl -s http://127.0.0.1:6080/')).toContain('noVNC');
    // Through websockify: a VNC server greets with its protocol version.
    const greeting = `import base64, os, socket
s = socket.create_connection(('127.0.0.1', 6080))
key = base64.b64encode(os.urandom(16)).decode()
s.sendall(f'GET /websockify HTTP/1.1\\r\\nHost: x\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Key: {key}\\r\\nSec-WebSocket-Version: 13\\r\\n\\r\\n'.encode())
data = b''
while b'RFB ' not in data: data += s.recv(100)
print(data[data.index(b'RFB '):].decode().strip())`;
    expect(await sh(`python3 - <<'PY'\n${greeting}\nPY`)).toMatch(/^RFB 003\.\d{3}$/);
    await sh(
      'setsid xterm -T "a window" >/dev/null 2>&1 & until xdotool search --name "a window"; do sleep 0.05; done',
    );
    await sh('scrot /tmp/desktop.png');
    expect(await sh('file -b /tmp/desktop.png')).toContain('PNG image data, 1280 x 800');
  });

  test('starting it again does no harm', async () => {
    await sh('start-desktop && start-desktop');
    expect(await sh('pgrep -xc Xvfb')).toBe('1');
    expect(await sh('pgrep -xc x11vnc')).toBe('1');
  });
});

test('the image holds no package index, no proxy and no credentials of the host', async () => {
  const fresh = new PassThrough();
  const files = fresh.toArray() as Promise<Buffer[]>;
  const [{ StatusCode: code }] = await docker.run(
    IMAGE,
    ['find', '/var/lib/apt/lists', '/var/cache/apt/archives', '/tmp', '-type', 'f', '-size', '+0'],
    fresh,
    { HostConfig: { AutoRemove: true } },
  );
  expect(code).toBe(0);
  fresh.end();
  expect(Buffer.concat(await files).toString()).toBe('');
  const { Config, RepoTags } = await docker.getImage(IMAGE).inspect();
  const history = JSON.stringify(await docker.getImage(IMAGE).history());
  expect(RepoTags).toContain(IMAGE);
  for (const text of [Config.Env.join('\n'), history]) {
    expect(text).not.toMatch(/https?_proxy/i);
    expect(text).not.toMatch(/:\/\/[^/\s"]+@/);
  }
});
