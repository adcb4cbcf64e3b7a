// Builds the console to static files in dist/, which the edge serves.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

const BYTES_WORTH_COMPRESSING = 1_024;

/** Writes `<asset>.br` beside each text asset, so that the edge compresses nothing. */
function compressed(): Plugin {
  return {
    name: 'compressed',
    async writeBundle({ dir = '' }, bundle) {
      for (const fileName of Object.keys(bundle)) {
        if (!/\.(js|css|svg)$/.test(fileName)) continue;
        const file = join(dir, fileName);
        const source = await readFile(file);
        if (source.length < BYTES_WORTH_COMPRESSING) continue;
        const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
        await writeFile(`${file}.br`, brotliCompressSync(source, { params }));
      }
    },
  };
}

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), compressed()],
  // The edge replaces it in each answer; scripts without the nonce do not run.
  html: { cspNonce: '__CSP_NONCE__' },
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rollupOptions: {
      // Only the parts of the contracts that are used.
      treeshake: { moduleSideEffects: (id: string) => !id.includes('/libs/contracts/') },
    },
  },
});
