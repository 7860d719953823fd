import './runtime.js';

await import('./server.ts');
