/**
 * The shell and common commands of the standard computer image, without the rest: 20 MB instead of 1.7 GB, so that a
 * test's own engine imports it in a second.
 */
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { STANDARD_IMAGE } from '@switchyard/contracts';
import Docker from 'dockerode';

/** Debian packages whose programs are copied, with the libraries they need. */
const PACKAGES = 'bash dash coreutils procps findutils grep sed mawk util-linux tar gzip perl-base';
const PACK = `
  programs=$(dpkg -L ${PACKAGES} | grep -E '^(/usr)?/bin/.' | sort -u)
  libraries=$(ldd $programs 2>/dev/null | grep -oE '/lib[^ ]+' | sort -u)
  mkdir -p /tmp/root/tmp /tmp/root/root && cd /tmp/root
  tar --create --dereference --file - --absolute-names $programs $libraries /bin/sh /usr/bin/awk /etc/passwd /etc/group | tar --extract
  tar --create --file - .`;

/**
 * Copies it from the machine's engine, which must have the standard image, into another engine.
 * @param name its name there: the standard image's own by default, so that it stands for that
 */
export async function importSmallImage(to: Docker, name: string = STANDARD_IMAGE): Promise<void> {
  const from = new Docker();
  const container = await from.createContainer({
    Image: STANDARD_IMAGE,
    Entrypoint: ['sh', '-c', PACK],
    NetworkDisabled: true,
  });
  try {
    const output = await container.attach({ stream: true, stdout: true, stderr: true });
    const archive = new PassThrough();
    const complaints = new PassThrough().resume();
    from.modem.demuxStream(output, archive, complaints);
    output.once('end', () => archive.end());
    await container.start();
    const [repo, tag] = name.split(':');
    const imported = await to.importImage(archive, { repo, tag });
    imported.resume();
    await once(imported, 'end');
    await to.getImage(name).inspect();
  } finally {
    await container.remove({ force: true });
  }
}
