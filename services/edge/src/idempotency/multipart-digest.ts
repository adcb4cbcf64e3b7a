// The digest of a multipart body by its parts: the same fields and files under another boundary are the same request. Each
// part counts to its last byte, and none of it is kept.
import { createHash, type Hash } from 'node:crypto';
import { Busboy } from '@fastify/busboy';

export interface MultipartDigest {
  write(piece: Buffer): void;
  /** Hex; null where the body is no multipart that can be read. */
  end(): Promise<string | null>;
}

/** Null where the type has no boundary that can be read. */
export function multipartDigest(contentType: string): MultipartDigest | null {
  const whole = createHash('sha256');
  const settled = Promise.withResolvers<boolean>();
  let parser: InstanceType<typeof Busboy>;
  try {
    // A field is read as a file is: the parser would hold its first megabyte, and drop the rest.
    parser = new Busboy({ headers: { 'content-type': contentType }, isPartAFile: () => true });
  } catch {
    return null;
  }
  /** Parts count in their order, each when its last byte has come. */
  let counted: Promise<void> = Promise.resolve();
  parser.on('file', (name, stream, filename: string | undefined, _encoding, mediaType) => {
    const content = createHash('sha256');
    const read = new Promise<void>((resolve) => {
      stream.on('data', (piece: Buffer) => content.update(piece));
      stream.once('end', resolve).once('error', resolve).once('close', resolve);
    });
    const head = filename === undefined ? ['field', name] : ['file', name, filename];
    counted = Promise.all([counted, read]).then(() =>
      addPart(whole, [...head, mediaType, content.digest('hex')]),
    );
  });
  parser.once('finish', () => settled.resolve(true));
  parser.on('error', () => settled.resolve(false));
  return {
    write: (piece) => void parser.write(piece),
    async end() {
      parser.end();
      if (!(await settled.promise)) return null;
      await counted;
      return whole.digest('hex');
    },
  };
}

/** Each with its length before it: no two lists of parts make the same bytes. */
function addPart(whole: Hash, texts: string[]): void {
  for (const text of texts) whole.update(`${Buffer.byteLength(text)}:${text},`);
}
