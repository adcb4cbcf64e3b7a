// The digest of a multipart body by its parts: the same fields and files under another boundary are the same request.
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
    parser = new Busboy({ headers: { 'content-type': contentType } });
  } catch {
    return null;
  }
  const contents: Promise<void>[] = [];
  let before: Promise<void> = Promise.resolve();
  /** Parts count in their order, a file when its last byte has come. */
  const inOrder = (add: () => Promise<void> | void) => {
    before = before.then(add);
    contents.push(before);
  };
  parser.on('field', (name, value, _nameCut, valueCut) =>
    inOrder(() => addPart(whole, ['field', name, value, String(valueCut)])),
  );
  parser.on('file', (name, stream, filename, _encoding, mediaType) => {
    const content = createHash('sha256');
    const read = new Promise<void>((resolve) => {
      stream.on('data', (piece: Buffer) => content.update(piece));
      stream.once('end', resolve).once('error', resolve).once('close', resolve);
    });
    inOrder(async () => {
      await read;
      addPart(whole, ['file', name, filename ?? '', mediaType, content.digest('hex')]);
    });
  });
  parser.once('finish', () => settled.resolve(true));
  parser.on('error', () => settled.resolve(false));
  return {
    write: (piece) => void parser.write(piece),
    async end() {
      parser.end();
      if (!(await settled.promise)) return null;
      await Promise.all(contents);
      return whole.digest('hex');
    },
  };
}

/** Each with its length before it: no two lists of parts make the same bytes. */
function addPart(whole: Hash, texts: string[]): void {
  for (const text of texts) whole.update(`${Buffer.byteLength(text)}:${text},`);
}
