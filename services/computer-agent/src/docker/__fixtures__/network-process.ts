// Opens the network of one agent's computers in the network name space of this process, where something of the host's
// listens as well.
//   argv: path of the engine's socket, the agent's id; a resolv.conf that is watched instead of the host's
//   messages in: 'lower', 'raise' (its firewall)    out: { name, unprotectedReason, port }, 'done'
import { once } from 'node:events';
import { createServer } from 'node:net';
import { makeLogger } from '@switchyard/service';
import Docker from 'dockerode';
import { removeFirewall, installFirewall } from '../firewall.ts';
import { BridgeNetwork } from '../network.ts';

const [socketPath = '', agentId = '', resolverFile] = process.argv.slice(2);
const docker = new Docker({ socketPath });
const logger = makeLogger('test', 'silent');
const network = new BridgeNetwork({
  docker,
  agentId,
  allowedNetworks: [],
  logger,
  ...(resolverFile ? { resolverFiles: [resolverFile], watchEveryMs: 500 } : { watchEveryMs: 600_000 }),
});
network.guard();
await network.restore();
const ofHost = createServer((connection) => connection.end('host')).listen(0, '0.0.0.0');
await once(ofHost, 'listening');
process.on('message', async (wanted: 'lower' | 'raise') => {
  if (wanted === 'lower') await removeFirewall(network.name);
  else await installFirewall({ bridge: network.name, allowedNetworks: [], mbitMax: undefined });
  process.send?.('done');
});
process.on('disconnect', () => process.exit());
const { port } = ofHost.address() as { port: number };
process.send?.({ name: network.name, unprotectedReason: network.unprotectedReason, port });
