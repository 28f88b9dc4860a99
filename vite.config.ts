import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

// Studio, the page of the service: built when the package is packed, so that it is no dependency of those who install it.
export default defineConfig({
  root: fileURLToPath(new URL('studio', import.meta.url)),
  // The page may be behind any prefix: the server writes the path of its files into it.
  base: './',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../dist/studio',
    emptyOutDir: true,
    target: 'es2023',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
});
