import { writePackagedBundle } from './write-packaged-bundle.ts';

// `npm run build:bundle`: in its built form, so that the bundle is of the built files and lies next to them.
await writePackagedBundle();
