/**
 * Turns off stack traces in the sandbox. The SDK takes one of every promise that a workflow makes, which is a sixth of the time that the
 * workflows of a worker need. It loads this module before it freezes `Error`.
 */
Error.stackTraceLimit = 0;
