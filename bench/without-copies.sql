-- What only the service itself reads and keeps: read rows, search rows, live counts, and the triggers beside them.
drop trigger if exists customers_keep_row on customers;
drop trigger if exists products_keep_row on products;
drop table customer_bodies, product_bodies, searchable_customers, searchable_products, live_counts;
