// The media type that a maker states for a video. It becomes a Content-Type at our origin, where text/html would be a
// page of ours.

const DEFAULT = 'video/mp4';
const VIDEO_TYPE = /^video\/[a-z0-9][a-z0-9.+-]*$/;

/** @param said with or without parameters; all but video types become video/mp4 */
export function videoType(said: string | null | undefined): string {
  const type = said?.split(';')[0]?.trim().toLowerCase() ?? '';
  return VIDEO_TYPE.test(type) ? type : DEFAULT;
}
