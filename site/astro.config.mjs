import { defineConfig } from 'astro/config';
import starlight from '@astrojs/starlight';

// What a build is of comes from `main.ts`, as variables.
const { SITE_BASE = '/next/', SITE_OUT = './dist/next', SITE_ORIGIN = 'https://longhaul-agents.github.io' } = process.env;

/** Without it, code is only colored for half a second, so that a build on a busy machine would be another one. */
const whole = {
  name: 'whole',
  preprocess: (_code, options) => {
    options.tokenizeTimeLimit = 0;
  },
};

export default defineConfig({
  site: SITE_ORIGIN,
  base: SITE_BASE,
  outDir: SITE_OUT,
  publicDir: './.cache/public',
  cacheDir: './.cache/astro',
  trailingSlash: 'always',
  telemetry: false,
  image: { service: { entrypoint: 'astro/assets/services/noop' } },
  // Two dashes are those of an option, and quotes are those of code.
  markdown: { smartypants: false, syntaxHighlight: 'shiki', shikiConfig: { theme: 'css-variables', transformers: [whole] } },
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
      // Long pages are not worse ones.
      pagefind: { ranking: { pageLength: 0.1, termFrequency: 1, termSaturation: 1.4, termSimilarity: 1 } },
      routeMiddleware: './src/branches.mjs',
      components: { PageTitle: './src/PageTitle.astro' },
      head: [],
    }),
  ],
});
