// A service that accepts calls and never answers. Tests run it as a child process and kill it during a call.
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
