import { setFlagsFromString } from 'node:v8';

// V8 lets the heap grow only slightly after a full collection, and counts the buffers of responses, so lists would cause ten full
// collections a second, and take twice the time. Set first, because compiled modules are stored for each set of flags.
setFlagsFromString('--heap-growing-percent=100');

await import('./runtime.js');
await import('./server.ts');
