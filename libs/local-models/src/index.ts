// The models that need no key and no network. They answer in OpenAI's shapes; the catalog entries are in
// services/model-router/catalog/local.yaml.
export { BYTES_PER_SAMPLE, decodeSound } from './decode-sound.ts';
export { createLocalModels } from './local-models.ts';
export { LocalRefusal } from './local-refusal.ts';
export { ProgramFailed, runProgram } from './run-program.ts';
export { renderVideo } from './video/render-video.ts';
