import { defineConfig } from 'astro/config';
import starlight from '@astrojs/starlight';

// What a build is of comes from `main.ts`, as variables.
const { SITE_BASE = '/next/', SITE_OUT = './dist/next', SITE_ORIGIN = 'https://longhaul-agents.github.io' } = process.env;

export default defineConfig({
  site: SITE_ORIGIN,
  base: SITE_BASE,
  outDir: SITE_OUT,
  publicDir: './.cache/public',
  cacheDir: './.cache/astro',
  trailingSlash: 'always',
  telemetry: false,
  image: { service: { entrypoint: 'astro/assets/services/noop' } },
  markdown: { syntaxHighlight: 'shiki', shikiConfig: { theme: 'css-variables' } },
  devToolbar: { enabled: false },
  integrations: [
    starlight({
      title: 'Longhaul',
      description: 'Durable AI agents on Temporal.',
      sidebar: [],
      expressiveCode: false,
      credits: false,
      disable404Route: false,
      customCss: ['./src/site.css'],
      routeMiddleware: './src/branches.mjs',
      head: [],
    }),
  ],
});
