// The digest of a multipart body by its parts, so that the same fields and files under another boundary are the same
// request. Each part counts to its last byte; nothing is kept.
import { createHash, type Hash } from 'node:crypto';
import { Busboy } from '@fastify/busboy';

/** More than any form of the API has. Each part costs CPU time, however short it is. */
export const PARTS_MAX = 256;

interface MultipartDigest {
  write(piece: Buffer): void;
  /** Hex; null for a body that is not valid multipart or has too many parts. */
  end(): Promise<string | null>;
}

/** Returns null for a type without a valid boundary. */
export function multipartDigest(contentType: string): MultipartDigest | null {
  const whole = createHash('sha256');
  const settled = Promise.withResolvers<boolean>();
  let hasTooMany = false;
  let parser: InstanceType<typeof Busboy>;
  try {
    // Treats a field like a file: otherwise the parser would buffer its first megabyte and drop the rest.
    parser = new Busboy({
      headers: { 'content-type': contentType },
      isPartAFile: () => true,
      limits: { parts: PARTS_MAX },
    });
  } catch {
    return null;
  }
  /** Parts count in their order, each when its last byte has arrived. */
  let counted: Promise<void> = Promise.resolve();
  parser.on(
    'file',
    (name: string | undefined, stream, filename: string | undefined, _encoding, mediaType) => {
      const content = createHash('sha256');
      const read = new Promise<void>((resolve) => {
        stream.on('data', (piece: Buffer) => content.update(piece));
        stream.once('end', resolve).once('error', resolve).once('close', resolve);
      });
      const kind = filename === undefined ? 'field' : 'file';
      const head = name === undefined ? [`nameless ${kind}`] : [kind, name];
      if (filename !== undefined) head.push(filename);
      counted = Promise.all([counted, read]).then(() =>
        addPart(whole, [...head, mediaType, content.digest('hex')]),
      );
    },
  );
  parser.once('partsLimit', () => {
    hasTooMany = true;
    settled.resolve(false);
  });
  parser.once('finish', () => settled.resolve(true));
  parser.on('error', () => settled.resolve(false));
  return {
    write(piece) {
      if (!hasTooMany) parser.write(piece);
    },
    async end() {
      if (!hasTooMany) parser.end();
      if (!(await settled.promise)) return null;
      await counted;
      return whole.digest('hex');
    },
  };
}

/** Adds each text after its length, so that different lists of parts never give the same bytes. */
function addPart(whole: Hash, texts: string[]): void {
  for (const text of texts) whole.update(`${Buffer.byteLength(text)}:${text},`);
}
