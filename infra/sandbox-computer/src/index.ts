// The standard computer image, built when it is not there.
export { type EnsureImageOptions, ensureImage, IMAGE } from './ensure-image.ts';
