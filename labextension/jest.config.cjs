// What JupyterLab ships as ES modules is compiled too; everything else is used as it is.
const esm = [
  '@jupyterlab',
  '@jupyter',
  '@lumino',
  'lib0',
  'y-protocols',
  'yjs',
  'nanoid',
  '@microsoft',
  'exenv-es6'
].join('|');

module.exports = {
  testEnvironment: 'jsdom',
  roots: ['<rootDir>/tests'],
  modulePathIgnorePatterns: ['<rootDir>/lib', '<rootDir>/../jupyter_dra/labextension'],
  transform: {
    '^.+\\.(t|j)sx?$': [
      '@swc/jest',
      {
        jsc: {
          parser: { syntax: 'typescript', tsx: true },
          target: 'es2022',
          transform: { react: { runtime: 'automatic' } }
        },
        module: { type: 'commonjs' }
      }
    ]
  },
  transformIgnorePatterns: [`/node_modules/(?!(${esm})/)`],
  moduleNameMapper: { '\\.(css|svg)$': '<rootDir>/tests/empty.cjs' },
  setupFiles: ['<rootDir>/tests/setup.cjs'],
  restoreMocks: true
};
