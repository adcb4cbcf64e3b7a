// A service in a process of its own, to be killed while it has a call: it takes calls and never answers them.
import { pino } from 'pino';
import { connectBus, serve } from '../index.ts';

const bus = await connectBus({ url: process.argv[2] as string, service: 'silent', logger: pino({ level: 'silent' }) });
const service = await serve(bus, { name: 'silent', version: '0.0.1', description: 'takes calls and never answers' });
service.stream('silent.v1.call', () => {
  process.send?.('taken');
});
service.stream('silent.v1.body', async (call) => {
  await call.body().next();
  process.send?.('taken');
});
await bus.nc.flush();
process.send?.('ready');
