import js from '@eslint/js';
import hooks from 'eslint-plugin-react-hooks';
import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['lib/', 'node_modules/', 'coverage/', '.yarn/'] },
  js.configs.recommended,
  ...tseslint.configs.recommended,
  {
    files: ['src/**/*.{ts,tsx}', 'tests/**/*.{ts,tsx}'],
    plugins: { 'react-hooks': hooks },
    rules: {
      ...hooks.configs.recommended.rules,
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/no-redeclare': 'off',
      'no-control-regex': 'off',
      'no-redeclare': 'off',
      eqeqeq: ['error', 'always', { null: 'ignore' }]
    }
  },
  {
    // Foreign text only ever becomes a text node.
    files: ['src/**/*.{ts,tsx}'],
    rules: {
      'no-restricted-properties': [
        'error',
        { property: 'innerHTML', message: 'build nodes, never markup' },
        { property: 'outerHTML', message: 'build nodes, never markup' },
        { property: 'insertAdjacentHTML', message: 'build nodes, never markup' }
      ],
      'no-restricted-syntax': [
        'error',
        { selector: 'JSXAttribute[name.name="dangerouslySetInnerHTML"]', message: 'build nodes, never markup' }
      ]
    }
  },
  {
    files: ['src/model/**', 'src/format/**', 'src/components/**', 'src/widgets/**', 'src/plugins/**'],
    rules: {
      'no-restricted-globals': [
        'error',
        { name: 'fetch', message: 'only api/ speaks HTTP' },
        'XMLHttpRequest',
        'EventSource',
        'WebSocket'
      ]
    }
  },
  {
    files: ['src/model/**', 'src/format/**'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            'react',
            'react-dom',
            '**/components/*',
            '**/widgets/*',
            '**/plugins/*',
            '@lumino/widgets',
            '@jupyterlab/apputils'
          ]
        }
      ]
    }
  },
  {
    files: ['src/components/**'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            '**/widgets/*',
            '**/plugins/*',
            '@lumino/*',
            '@jupyterlab/apputils',
            '**/api/client',
            '**/api/stream'
          ]
        }
      ]
    }
  },
  {
    files: ['**/*.mjs', '**/*.cjs', 'style/*.js'],
    languageOptions: {
      globals: {
        URL: 'readonly',
        console: 'readonly',
        globalThis: 'readonly',
        module: 'readonly',
        process: 'readonly',
        require: 'readonly'
      }
    },
    rules: { '@typescript-eslint/no-require-imports': 'off' }
  }
);
