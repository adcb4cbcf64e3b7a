// Builds the standard computer image. The parts of its build also serve other images of this repository.
export { readAptSetup, renderSources } from './apt-setup.ts';
export { ensureBase } from './base-image.ts';
export { type HostSetup, writeSystem } from './build-context.ts';
export { proxyArguments } from './build-image.ts';
export { ensureBuiltImage } from './ensure-built-image.ts';
export { ensureImage, IMAGE } from './ensure-image.ts';
export { findExtraCertificates } from './extra-certificates.ts';
export { addNode, nodePackages } from './node-packages.ts';
export { isImagePresent, pullImage } from './pull-image.ts';
export { architectureOf } from './recipe.ts';
