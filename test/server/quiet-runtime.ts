import { DefaultLogger, Runtime } from '@temporalio/worker';

// Failing activities and workflows are what many of these tests are about: their logs would bury a real failure.
Runtime.install({ logger: new DefaultLogger('ERROR') });
