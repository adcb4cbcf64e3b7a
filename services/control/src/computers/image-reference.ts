// The syntax of an image reference, [registry[:port]/]path[:tag][@digest], as Docker's grammar has it. Whether there is
// such an image, its host finds out.
import { ServiceError } from '@switchyard/contracts';

const REGISTRY =
  '(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)(?:\\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*(?::\\d{1,5})?';
const PART = '[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*';
const REFERENCE = new RegExp(
  `^(?:${REGISTRY}/)?${PART}(?:/${PART})*(?::[\\w][\\w.-]{0,127})?(?:@sha256:[a-f0-9]{64})?$`,
);

/** @throws ServiceError `invalid_request`, param `image`. */
export function checkImageReference(image: string): void {
  if (!REFERENCE.test(image))
    throw new ServiceError('invalid_request', `image: ${JSON.stringify(image)} is no reference to an image`, {
      param: 'image',
    });
}
