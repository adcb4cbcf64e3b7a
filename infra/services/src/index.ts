// What docker-compose.yml is built on, made where no image registry is reached.
export { ensureBases } from './ensure-bases.ts';
