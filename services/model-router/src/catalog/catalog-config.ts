// Settings of the services that read the catalog.
import { z } from 'zod';

export const catalogConfig = {
  /**
   * Additional catalog files, separated by commas; a model with an existing id replaces the shipped one. The
   * model-router and the video-worker need the same list.
   */
  SWITCHYARD_CATALOG: z
    .string()
    .default('')
    .transform((list) =>
      list
        .split(',')
        .map((path) => path.trim())
        .filter((path) => path !== ''),
    ),
};

/** Credentials of an upstream, by the variable that the catalog names. Secrets of Kubernetes often end in a newline. */
export function secretOf(settings: Record<string, unknown>, name: string): string | undefined {
  const value = settings[name];
  return (typeof value === 'string' && value.trim()) || undefined;
}
