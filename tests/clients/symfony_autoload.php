<?php
// SPDX-License-Identifier: BSD-3-Clause
// Finds the classes of a checkout of symfony/cache (SYMFONY_CACHE) and of the packages that its adapter's tests use.

foreach (['Psr/Log', 'Psr/Cache', 'Psr/SimpleCache', 'Psr/Container', 'Symfony/Contracts/Cache', 'Symfony/Contracts/Service',
    'Symfony/Contracts/Deprecation', 'Symfony/Component/VarExporter', 'Cache/IntegrationTests'] as $package) {
    require_once "/usr/share/php/$package/autoload.php";
}
spl_autoload_register(function ($class) {
    $prefix = 'Symfony\\Component\\Cache\\';
    $file = getenv('SYMFONY_CACHE').'/'.str_replace('\\', '/', substr($class, strlen($prefix))).'.php';
    if (str_starts_with($class, $prefix) && is_file($file)) {
        require $file;
    }
});
