// The syntax of an image reference, [registry[:port]/]path[:tag][@digest], by Docker's grammar.

const REGISTRY =
  '(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)(?:\\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*(?::\\d{1,5})?';
const PART = '[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*';
const REFERENCE = new RegExp(
  `^(?:${REGISTRY}/)?${PART}(?:/${PART})*(?::[\\w][\\w.-]{0,127})?(?:@sha256:[a-f0-9]{64})?$`,
);

/** Whether the syntax is valid. Only the host that pulls it finds out whether the image exists. */
export function isImageReference(image: string): boolean {
  return REFERENCE.test(image);
}
